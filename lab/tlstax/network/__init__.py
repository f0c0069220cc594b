"""The way between client and server: a relay that listens, programs in between, distance."""
