"""The keys of the main screen: each has an id, so that a configuration can move it."""

from __future__ import annotations

from textual.binding import Binding, BindingType

CHAT_BINDINGS: list[BindingType] = [
    Binding("escape", "escape", "Stop", id="chat.stop", show=False),
    Binding("ctrl+c", "interrupt", "Copy, stop, clear or quit", id="chat.interrupt", show=False),
    Binding("ctrl+end", "end", "Go to the end", id="chat.end", show=False),
    Binding("ctrl+f", "find", "Find in this conversation", id="chat.find", show=False, priority=True),
    Binding("alt+up,shift+pageup", "turn(-1)", "To the question above", id="chat.turn_above", show=False),
    Binding("alt+down,shift+pagedown", "turn(1)", "To the question below", id="chat.turn_below", show=False),
    Binding("alt+v", "command('/view')", "Read an answer on the whole screen", id="chat.view", show=False),
    Binding("alt+c", "copy_answer", "Copy the last answer", id="chat.copy", show=False),
    Binding("ctrl+r", "command('/history')", "Search what you asked", id="chat.history", show=False),
    Binding("alt+q", "command('/queue')", "Look at what waits", id="chat.queue", show=False),
    Binding("alt+i", "command('/image paste')", "Attach the picture you copied", id="chat.image", show=False),
    Binding("f1", "command('/help')", "Help", id="chat.help"),
    Binding("f2", "command('/runtime')", "Runtime", id="chat.runtime"),
    Binding("f3", "demo", "Use the built-in engine with a small demo model", id="chat.demo", show=False),
    Binding("ctrl+s", "command('/sessions')", "Sessions", id="chat.sessions"),
    Binding("ctrl+o", "command('/model')", "Models", id="chat.models"),
    Binding("f4", "command('/pull')", "Fetch a model", id="chat.pull", show=False),
    Binding("alt+l", "command('/todo')", "Fold what is to be done", id="chat.todo", show=False),
    Binding("alt+t", "command('/think')", "Think more or less", id="chat.think", show=False),
]
