"""Who talks: load clients behind the contract."""
