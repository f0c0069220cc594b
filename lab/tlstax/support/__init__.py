"""What every room stands on: errors, checksums, the directories of this machine, words, groups."""
