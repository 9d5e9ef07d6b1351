"""Looking whether everything holds that should, and mending what can be mended."""

from omnigraph_l2._verifying.report import Finding, Severity, VerifyReport

__all__ = ["Finding", "Severity", "VerifyReport"]
