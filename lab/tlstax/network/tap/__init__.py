"""A tap between client and server: it passes bytes on and writes down what can be seen of them."""
