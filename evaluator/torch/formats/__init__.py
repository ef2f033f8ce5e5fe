"""Translators of other projects' problem formats (README.md)."""
