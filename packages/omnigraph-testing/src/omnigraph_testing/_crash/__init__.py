"""Processes that are really killed, and what they leave behind them."""
