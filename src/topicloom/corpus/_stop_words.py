"""English function words, in the form in which the default tokenizer leaves them."""

# Contractions are cut at the apostrophe, so their stumps ("don", "ll", "ve") are words to stop as well.
_WORDS = """
a an the this that these those such same other others another each every either neither both all any
some none no not nor several few fewer many more most much less least enough own only

i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she
her hers herself it its itself they them their theirs themselves one ones oneself who whom whose which
what whoever whomever whatever whichever someone somebody something anyone anybody anything everyone
everybody everything nobody nothing

be am is are was were been being do does did done doing have has had having can could may might must
shall should will would ought cannot let lets get gets got gotten getting go goes went gone going make
makes made making seem seems seemed seeming become becomes became becoming keep keeps kept say says said
saying tell tells told come comes came coming take takes took taken taking put puts use uses used using

about above across after against along alongside amid among amongst around as at before behind below
beneath beside besides between beyond by concerning despite down during except for from in inside into
like near of off on onto opposite out outside over past per regarding since than through throughout till
to toward towards under underneath until unto up upon versus via with within without

and or but so yet if unless although though because while whereas whether when whenever where wherever
why how however therefore thus hence moreover furthermore nevertheless nonetheless otherwise meanwhile
instead else then thereby therein thereafter thereof whereby wherein hereby herein hereafter

again ago almost already also always anyhow anyway anywhere apart aside away back ever everywhere
elsewhere far further here indeed just later lately maybe merely mostly much namely nearly never next
now nowhere often once perhaps quite rather really simply somehow sometime sometimes somewhat somewhere
soon still there too together twice usually very well even yes

etc ie eg vs

ain aren couldn didn doesn don hadn hasn haven isn mightn mustn needn shan shouldn wasn weren wouldn ll
re ve im ive id dont didnt doesnt cant wont isnt wasnt
"""
ENGLISH_STOP_WORDS: frozenset[str] = frozenset(_WORDS.split())
