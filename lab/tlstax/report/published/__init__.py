"""Published figures and tables beside ours, as tables and charts."""
