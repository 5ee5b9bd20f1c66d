"""How things are drawn and named: themes, signs, typeset lines, quantities."""
