"""`tlstax machines`: the machines of a cluster, what each can measure, and how far they are apart."""

from __future__ import annotations

from tlstax.cli.streams import colourful, show, show_json, terminal_width
from tlstax.machines.listing import MachineListing
from tlstax.machines.listing_table import listing_text
from tlstax.machines.on_ray import connected
from tlstax.machines.parcels import Parcels


def machines_command(address: str, *, as_json: bool) -> int:
    """Print what is known of each."""
    with Parcels() as parcels, connected(address, parcels) as cluster:
        machines, round_trips = cluster.survey(cluster.nodes())
    listing = MachineListing(address=address, machines=tuple(machines), round_trips=tuple(round_trips))
    if as_json:
        show_json(listing.model_dump_json(indent=2) + "\n")
    else:
        colour = colourful()
        show(listing_text(listing, width=terminal_width(), colour=colour), coloured=colour)
    return 0
