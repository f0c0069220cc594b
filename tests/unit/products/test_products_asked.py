"""Each product is asked by the modules of its own room, which is imported when it is needed."""

from __future__ import annotations

from dataclasses import fields
from typing import get_args

import pytest

from tlstax.products.product import Product, product_named
from tlstax.study.product import ProductName

ROOM_OF = {"mysql": "mysql", "mariadb": "mysql", "postgresql": "postgres"}


@pytest.mark.parametrize("name", get_args(ProductName))
def test_a_product_is_answered_for_by_its_own_room(name: ProductName) -> None:
    product = product_named(name)
    assert product.name == name
    assert (product.login_log is None) == (name != "postgresql")
    assert type(product.table).__module__ == f"tlstax.{ROOM_OF[name]}.table"
    own = (field.name for field in fields(Product) if field.name not in {"name", "table"})
    modules = {name: getattr(product, name) for name in own}
    assert {own: module.__name__ for own, module in modules.items() if module is not None} == {
        own: f"tlstax.{ROOM_OF[name]}.{own}" for own, module in modules.items() if module is not None
    }
