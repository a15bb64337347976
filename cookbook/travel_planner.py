# %% [markdown]
# # A travel planner that explains Barcelona
#
# A traveller says what she likes and what she can spend, the agent proposes, she decides. Weeks later somebody asks why
# it was Barcelona. The memory answers with the chain behind the decision, and with nothing else: the wishes and limits,
# the proposal that takes them up, the decision. It also knows what she wants now, after she has changed her mind.
# Extra: `[agent]`.

# %%
from langchain.agents import create_agent
from offline import ScriptedChatModel

from prism_core import PrismMemory
from prism_langchain import PrismMemoryMiddleware

# %% [markdown]
# ## The model
# Scripted, so that this runs anywhere; change one line for a real one.


# %%
def script(said: str, results: list[str]) -> str:
    said = said.splitlines()[0]
    if "Where could I go" in said:
        return "I suggest Barcelona: beaches, Gaudí's architecture, and a week there fits 2,000 euros."
    if "go with" in said:
        return "Noted, Barcelona it is."
    return "I see."


# from langchain_openai import ChatOpenAI; model = ChatOpenAI(model="gpt-4o-mini")
# from langchain_ollama import ChatOllama; model = ChatOllama(model="qwen3")
model = ScriptedChatModel(script=script)  # one of the lines above, in place of this one, asks a real model

memory = PrismMemory.open()
TRAVELLER = ("agency", "eva")
agent = create_agent(model, middleware=[PrismMemoryMiddleware(memory, scope=TRAVELLER)])

# %% [markdown]
# ## The conversation
# Not everything in it has to do with the journey.

# %%
TALK = (
    "Hello! It rains here without end.",
    "I love the sea and modern architecture.",
    "My budget is 2,000 euros for the week.",
    "Where could I go in May?",
    "Great, let's go with Barcelona!",
    "By the way, my sister Ines has a new dog.",
)
for words in TALK:
    agent.invoke({"messages": [{"role": "user", "content": words}]}, config={"configurable": {"thread_id": "may-trip"}})

# %% [markdown]
# ## Why Barcelona?
# The decision is found by its words. `why` walks back from it: what it rests on, and what that rests on.

# %%
found = memory.search("Why did we choose Barcelona?", scope=TRAVELLER)
decision = next(hit.unit for hit in found if "decide" in {tag.partition("/")[0] for tag in hit.unit.intent_tags})
chain = memory.why(decision.id, scope=TRAVELLER)
print(chain.render())

# %% [markdown]
# ## What is known, and since when
# Every statement became a fact. A new one takes the place of the old, which is kept.

# %%
agent.invoke(
    {"messages": [{"role": "user", "content": "My budget is now 2,500 euros for the week."}]},
    config={"configurable": {"thread_id": "june-call"}},
)
print()
for fact in memory.facts(scope=TRAVELLER):
    print(f"{fact.text}  ({fact.fact.category}, {fact.confidence:.0%})")
print()
for belief in memory.beliefs("user", "budget", scope=TRAVELLER):
    print(f"{belief.unit.text}: {belief.unit.status}")

# %% [markdown]
# ## What to ask next
# Questions worth asking a new traveller, without those that she has answered already.

# %%
print("\nStill to ask:")
for question in memory.onboarding_questions(scope=TRAVELLER)[:3]:
    print(f"  {question}")
memory.close()
