"""What is measured: real servers, private ones that are fetched and started here, and external ones."""
