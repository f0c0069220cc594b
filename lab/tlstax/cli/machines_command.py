"""`tlstax machines`: the machines of a cluster, what each can measure, and how far they are apart."""

from __future__ import annotations

from functools import partial

from tlstax.cli.streams import show_found
from tlstax.machines.listing import MachineListing
from tlstax.machines.listing_table import listing_text
from tlstax.machines.on_ray import connected
from tlstax.machines.parcels import Parcels


def machines_command(address: str, *, as_json: bool) -> int:
    """Print what is known of each."""
    with Parcels() as parcels, connected(address, parcels) as cluster:
        machines, round_trips = cluster.survey(cluster.nodes())
    listing = MachineListing(address=address, machines=tuple(machines), round_trips=tuple(round_trips))
    show_found(listing, partial(listing_text, listing), as_json=as_json)
    return 0
