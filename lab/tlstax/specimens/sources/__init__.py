"""Where specimens come from: one module for each tool that fetches or builds them."""
