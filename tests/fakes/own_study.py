"""A study file with a workload of the user's own, `orders`, beside one of ours."""

from __future__ import annotations

STUDY = """
name = "mine"
title = "t"
question = "q"
baseline = { tls = "off" }
[factors]
tls = ["off", "1.3"]
connections = [2]
workload = ["orders", "point-select"]
[[workloads.orders.transactions]]
statements = [{ sql = "SELECT k FROM {table} WHERE id={id}" }]
"""
