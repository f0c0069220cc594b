"""What files of many authorities cost a connect, driver by driver."""
