# %% [markdown]
# # 中文客服助手 · A customer assistant in Chinese
#
# Words are found by characters and pairs of them, dates such as “上周六” are resolved when they are said, and the block
# that the model reads is in Chinese. The bundled embedder is English and steps aside for Chinese text; with the extra
# `[multilingual]` pass `embedder=MultilingualEmbedder()`. Extra: `[langchain]`.

# %%
from datetime import UTC, datetime

from langchain_core.messages import HumanMessage, SystemMessage
from offline import ScriptedChatModel

from prism_core import ContextBuilder, Event, IntentQuery, PrismMemory
from prism_core.text import O200kCounter

# %% [markdown]
# ## 模型
# 这里用脚本代替模型；换成真实模型只需改一行。


# %%
def script(said: str, results: list[str]) -> str:
    return "退货单号是 RT-5520，退款原路返回。" if "RT-5520" in said and "原路返回" in said else "请您再说明一下。"


# from langchain_openai import ChatOpenAI; model = ChatOpenAI(model="gpt-4o-mini")
# from langchain_ollama import ChatOllama; model = ChatOllama(model="qwen3")
model = ScriptedChatModel(script=script)  # one of the lines above, in place of this one, asks a real model

# %% [markdown]
# ## 发生过的事
# 客户说过的话、系统做过的操作，按时间写入。上周六是哪一天，写入时就已确定。

# %%
SCOPE = ("客服", "李女士")
memory = PrismMemory.open()
said = datetime(2026, 11, 25, 2, 0, tzinfo=UTC)
memory.write_many(
    [
        Event(observation="我上周六买的烤箱门关不严，想退货。", speaker="李女士", event_time=said),
        Event(
            kind="step",
            action='create_return({"订单": "TB-20931"})',
            observation="退货单 RT-5520 已创建，上门取件时间：11月27日上午",
            source="assistant",
            event_time=said,
        ),
        Event(observation="退款请原路返回，不要换成优惠券。", speaker="李女士", event_time=said),
        Event(observation="对了，我住在六楼，没有电梯。", speaker="李女士", event_time=said),
        Event(observation="烤箱的保修期一般是两年。", speaker="客服", source="assistant", event_time=said),
    ],
    scope=SCOPE,
)

# %% [markdown]
# ## 新的会话
# 客户几天后来问退款；找回的是退货单和退款方式。`units` 与 `ContextBuilder(language="zh")` 给出中文的记忆块。

# %%
QUESTION = "我的退款怎么样了？退货单号是多少？"
found = memory.search(QUESTION, scope=SCOPE, k=3)
block = ContextBuilder(O200kCounter(), language="zh").pack(found.units, 300, QUESTION).text
print(block)
answer = model.invoke([SystemMessage("你是客服。"), HumanMessage(f"{QUESTION}\n\n{block}")])
print("助手：", answer.text)

# %% [markdown]
# ## 按日期提问
# “11月21日买的是什么”：那天正是上周六，虽然没有人写下这个日期。

# %%
dated = memory.search("11月21日买的是什么？", scope=SCOPE, k=1)
print("11月21日：", dated[0].unit.text, "| 实体：", "、".join(dated[0].unit.entities))

# %% [markdown]
# ## 只看某一段时间
# 也可以只在一段时间之内找，或者只找某个会话、某项任务。

# %%
late = IntentQuery(text="退款", since=datetime(2026, 12, 1, tzinfo=UTC))
print("12月以后：", len(memory.search(late, scope=SCOPE)), "条")
