"""What shells complete after `tlstax`: a script for each, and the few names that only a store knows."""
