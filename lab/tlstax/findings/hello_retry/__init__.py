"""Who is asked for a second ClientHello, what that costs, what avoids it."""
