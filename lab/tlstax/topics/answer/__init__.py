"""The document of a run and its answer in words: statements, headline, caveats."""
