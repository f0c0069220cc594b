"""What a run shows, as frozen types: the document, rows, intervals. The JSON is exactly these."""
