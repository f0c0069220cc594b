"""A distance between client and server that acts on packets: two namespaces and what delays the packets."""
