"""Figures: tables and arrays in, matplotlib Figure out; nothing here touches disk or the state of pyplot."""
