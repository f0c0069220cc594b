"""The formats: each knows its markup; one function gives any of them."""
