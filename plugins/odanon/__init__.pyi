from odanon.api import OdanonError as OdanonError
from odanon.api import Promise as Promise
from odanon.api import RefusedError as RefusedError
from odanon.api import anonymize as anonymize
from odanon.api import hierarchy as hierarchy
from odanon.api import open as open
from odanon.api import release as release
