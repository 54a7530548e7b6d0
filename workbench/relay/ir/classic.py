from .type_text import type_text
