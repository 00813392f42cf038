"""Makes the scheme of `tests.support.four_servers` known to every process that finds this on its path."""

from ppaurora.protocols import register
from tests.support.four_servers import FourServers

register(FourServers)
