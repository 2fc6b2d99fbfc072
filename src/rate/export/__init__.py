"""Export: a trained policy as ONNX graphs with explicit state, a card, and a runner that needs no torch."""

from __future__ import annotations

from rate.export.export import check_extra, export_policy, export_run
from rate.export.form import Form, Given, form_of
from rate.export.program import Asked

__all__ = ["Asked", "Form", "Given", "check_extra", "export_policy", "export_run", "form_of"]
