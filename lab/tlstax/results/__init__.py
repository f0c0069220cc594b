"""What a run shows, as frozen types: one document, a module for each topic of it. JSON is exactly these."""
