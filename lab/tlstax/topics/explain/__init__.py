"""Where the extra CPU time of a case goes: components, functions, a culprit."""
