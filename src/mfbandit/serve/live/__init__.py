"""What goes on in studies, told to all who watch: one reader of each log, however many pages are open."""
