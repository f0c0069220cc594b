"""Where the cost goes, as tables, text and waterfalls."""
