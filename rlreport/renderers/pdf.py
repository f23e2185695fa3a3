"""Report to a tagged PDF with bookmarks, and with report.json attached."""

from __future__ import annotations

import datetime
import logging
from contextlib import suppress
from typing import Any

from rlreport.run.diagnostics import Diagnostic, RlreportError

#: PDF/A-3a: archival, tagged (accessible) and allowed to carry the data as an attachment.
PDF_VARIANT = "pdf/a-3a"
#: The attachment needs dates; a fixed one keeps the bytes equal between builds.
_ATTACHMENT_DATE = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)

_SYSTEM_LIBRARIES = "apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fonts-inter"


def render_pdf(html: str, report_json: bytes) -> bytes:
    """Print the HTML page, with report.json attached.

    Raises RlreportError RR503 when the system libraries that WeasyPrint draws text with are missing. Nothing is fetched:
    every address but a data URI is refused.
    """
    weasyprint = _weasyprint()
    fetcher = weasyprint.URLFetcher(allowed_protocols={"data"})
    from rlreport.renderers.pdf_figures import figures_of

    fonts = weasyprint.text.fonts.FontConfiguration()
    page = weasyprint.HTML(string=html, url_fetcher=fetcher)
    document = page.render(font_config=fonts, pdf_variant=PDF_VARIANT, cache=figures_of(html, fetcher, fonts))
    document.metadata.attachments = [
        weasyprint.Attachment(
            string=report_json,
            name="report.json",
            description="The numbers of this report",
            relationship="Data",
            created=_ATTACHMENT_DATE,
            modified=_ATTACHMENT_DATE,
        )
    ]
    pdf: bytes = document.write_pdf(pdf_variant=PDF_VARIANT)
    return pdf


def import_ahead() -> None:
    """Import what printing needs, which takes most of a second; without the system libraries nothing happens yet."""
    with suppress(RlreportError):
        _weasyprint()


def _weasyprint() -> Any:
    logging.getLogger("weasyprint").setLevel(logging.ERROR)
    logging.getLogger("fontTools").setLevel(logging.ERROR)
    try:
        import weasyprint
    except OSError as error:
        raise RlreportError.of(
            Diagnostic(
                "RR503",
                f"the PDF cannot be made: a system library is missing ({error})".splitlines()[0],
                hint=_SYSTEM_LIBRARIES,
            ),
            exit_code=1,
        ) from error
    return weasyprint
