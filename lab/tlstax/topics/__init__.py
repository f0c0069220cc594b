"""What a run shows, topic by topic: its rows, its sentences, its tables; and what all topics stand on."""
