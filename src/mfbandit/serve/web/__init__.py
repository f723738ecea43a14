"""What browsers and workers talk to: loaded when a page is made, since it needs starlette."""
