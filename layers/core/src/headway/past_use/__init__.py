"""What did each team use lately, and how much of it does a newcomer lack? Averages that fade. Pure."""
