"""Inputs: valid ones, and what attacks and accidents make of them."""
