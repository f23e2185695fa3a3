from typing import Literal
DefectName = Literal["glued", "split", "cut", "np-scalars", "killed"]
