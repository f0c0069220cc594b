"""What any mix of connections and statements costs, computed from a few that were measured. Pure."""
