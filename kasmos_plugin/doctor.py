"""What is wrong with this user's kasmos, line by line. Looks, and changes nothing."""
