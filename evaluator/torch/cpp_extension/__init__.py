"""The extensions that a solution compiles (README.md)."""
