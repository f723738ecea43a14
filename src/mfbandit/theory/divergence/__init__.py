"""KL and KL_inf of the reward laws."""
