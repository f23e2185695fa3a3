"""Figure specifications drawn as SVG or PNG; plotters lay out and compute nothing else."""
