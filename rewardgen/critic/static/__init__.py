"""What the text of a reward tells together with its task card, without running it: names, signs, the order of parts."""
