"""Load clients as studies know them: names, words, and what each cannot do."""
