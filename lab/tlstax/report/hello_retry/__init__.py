"""HelloRetryRequests, as sentences and tables."""
