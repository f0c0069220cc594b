"""A Python driver behind tlstax's contract: all that is the same whichever driver it is."""
