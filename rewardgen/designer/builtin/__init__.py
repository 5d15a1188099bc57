"""The designer that needs no language model: it composes rewards from the task card by a term grammar."""
