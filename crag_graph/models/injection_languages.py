"""The rules of `injection` in other languages than English.

They read lower-case text without accents and other combining marks. In each language: orders to
drop earlier orders or the question, words to the model by its kind, a grade for this text, orders
about "your answer" in the familiar form, by which manuals do not speak to their readers.
"""

_NOT_IN_GERMAN = r"(?![^.!?]{0,30}\b(?:nie|niemals|nicht|kein\w*|sicherheit\w*)\b)"
_SAFE = r"(?![^.!?]{0,60}\b(?:securite|seguridad|sicurezza|seguranca|veiligheid\w*)\b)"

LANGUAGES = (
    # German
    rf"\b(?:ignoriere?n?|vergiss|missachte)\b{_NOT_IN_GERMAN}[^.!?]{{0,40}}\b(?:bisherig|vorherig|"
    r"obig|frueher|fruher|all|dein)\w*[^.!?]{0,20}\b(?:anweisung|vorgabe|regel|instruktion)",
    r"\b(?:ignoriere?n?|vergiss)\b[^.!?]{0,8}\bdie (?:frage|aufgabe) und (?:empf|sag|antwort|"
    r"schreib|lob)",
    r"\bvergiss (?:alles|was)\b[^.!?]{0,20}\b(?:gesagt|oben|bisher|zuvor|vorher)",
    r"\bals (?:ki|sprachmodell|ki-(?:modell|assistent\w*|system))\b[^.!?]{0,4}\b(?:musst|sollst|"
    r"must)\b",
    r"\bdu bist (?:jetzt|nun|ab jetzt) (?:ein|eine|kein\w*)\b[^.!?]{0,30}\b(?:verkauf|ki\b|"
    r"assistent|pirat|chatbot|bewerter|gutachter)",
    r"\bdeine (?:antwort|ausgabe|zusammenfassung)\b[^.!?]{0,8}\b(?:muss|"
    r"soll)\b[^.!?]{0,40}\b(?:empf[ei]hl|lob|anpreis|bewerb)",
    r"\b(?:bewerte|benote|stufe)\b[^.!?]{0,8}\bdiese[nsr]? (?:text|abschnitt|passage|dokument|"
    r"quelle|seite)\b[^.!?]{0,30}(?:\b[0-5]\b|relevant|hochst)",
    r"\bgib\b[^.!?]{0,8}\bdiese[mrn]? (?:text|abschnitt|passage|dokument|quelle|"
    r"seite)\b[^.!?]{0,30}(?:\b[0-5]\b|hochst)",
    # French
    rf"(?<!n')(?<!ne )\b(?:ignore[z]?|oublie[z]?)\b{_SAFE}[^.!?]{{0,12}}\b(?:toutes?|tes|vos|"
    rf"precedent\w*|"
    r"les)\b[^.!?]{0,20}\b(?:instructions?|consignes?|regles?)\b[^.!?]{0,20}(?:\bprecedent|"
    r"\bci-dessus|\banterieur|\bet\b|\W*$)",
    r"(?<!n')\bignore[z]? la question et (?:recommand|di[ts]|repond|ecri)",
    r"(?<!n')\boublie[z]? tout ce qui (?:precede|a ete dit)",
    r"\ben tant qu(?:'|e )(?:ia|modele de langage)\b[^.!?]{0,4}\b(?:tu|vous)\b",
    r"\btu es (?:maintenant|desormais) une? (?:vend|assist|pirat|juge|evalu|ia\b|robot)",
    r"\bta (?:reponse|sortie)\b[^.!?]{0,8}\b(?:doit|devra)\b[^.!?]{0,12}\b(?:recommand|vant|loue)",
    r"\b(?:note[z]?|attribue[z]?|donne[z]?)\b[^.!?]{0,20}\b(?:ce|cet|cette) (?:passage|document|"
    r"texte|extrait|page)\b[^.!?]{0,30}(?:\b[0-5]\b|pertinent|maximale)",
    # Spanish
    rf"(?<!no )\b(?:ignor[ae]|olvid[ae])\b{_SAFE}[^.!?]{{0,12}}\b(?:todas|tus|sus|"
    rf"las)\b[^.!?]{{0,20}}"
    r"\b(?:instrucciones|reglas|indicaciones)\b[^.!?]{0,20}(?:\banterior|\bprevia|\by\b|\W*$)",
    r"(?<!no )\bignor[ae] la pregunta y (?:recomi|di\b|diga|respond|escrib)",
    r"(?<!no )\b(?:olvida|ignora) todo lo (?:anterior|dicho)",
    r"\bcomo (?:ia|modelo de lenguaje)\b[^.!?]{0,4}\b(?:debes|tienes|deberas)\b",
    r"\bahora eres una? (?:vend|asist|pirat|juez|evalu|ia\b|robot)",
    r"\btu respuesta\b[^.!?]{0,8}\b(?:debe|tiene que)\b[^.!?]{0,12}\b(?:recom|elogi|promo)",
    r"\b(?:califi[cq]\w+|puntu\w+|asign\w+)\b[^.!?]{0,12}\b(?:este|esta) (?:pasaje|documento|"
    r"texto|pagina)\b[^.!?]{0,30}(?:\b[0-5]\b|relevante|maxima)",
    # Italian, Portuguese, Dutch
    rf"(?<!non )\b(?:ignora|dimentica)\b{_SAFE}[^.!?]{{0,12}}\b(?:tutte|tue|precedenti|"
    rf"le)\b[^.!?]{{0,20}}"
    r"\b(?:istruzioni|regole)\b",
    rf"(?<!nao )\b(?:ignore|esqueca|desconsidere)\b{_SAFE}[^.!?]{{0,12}}\b(?:todas|suas|"
    rf"as)\b[^.!?]{{0,20}}"
    r"\b(?:instrucoes|regras)\b",
    rf"\b(?:negeer|vergeet)\b(?! (?:nooit|niet)){_SAFE}[^.!?]{{0,12}}\b(?:alle|eerdere|vorige|je)\b"
    r"[^.!?]{0,20}\b(?:instructies|regels|aanwijzingen)\b",
    # Russian; и and й are one letter without marks.
    r"(?<!не )(?:игнорируи|забудь|не обращаи внимания)\w*[^.!?]{0,20}(?:предыдущ|прежн|все|"
    r"выше)\w*[^.!?]{0,20}(?:инструкц|указани|правил)",
    r"(?:оцени|поставь|присвои)\w*[^.!?]{0,12}(?:эт\w+ )(?:текст|документ|отрыв|фрагмент|"
    r"страниц)\w*[^.!?]{0,30}\b[0-5]\b",
    # Chinese, Japanese, Korean
    r"(?<![勿要能可])(?:忽略|无视|無視|忘记|忘掉)[^。！？]{0,8}(?:以上|之前|先前|前面|上述|所有|全部|此前)[^。！？]{0,6}(?:指令|指示|说明|"
    r"說明|提示|规则|要求)",
    r"(?<![勿要能可])(?:忽略|无视|無視)(?:以上|上述|前面|之前)的?(?:内容|文字|文本|一切|所有)?[，,、]?(?:并|只|请|而|直接)*(?:推荐|回答|"
    r"说|告诉|输出)",
    r"(?:作为|身为)(?:一个|一名)?(?:人工智能|ai|语言模型|大模型|智能助手)[^。！？]{0,4}(?:必须|应该|要|只能)",
    r"你现在是(?:一个|一名)?[^。！？]{0,12}(?:销售|助手|机器人|模型|评委|海盗|推销)",
    r"你的(?:回答|答案|回复|输出)(?:必须|应该|只能|要)[^。！？]{0,4}(?:推荐|赞|夸|提到)",
    r"(?:这段|本段|该段|这篇|本文|此)(?:文字|文本|文档|文章|段落|内容)?[^。！？]{0,6}(?:打|评|評|给|給|"
    r"为)[^。！？]{0,8}(?:[0-5五满滿]\s*分|最高分|高度相关)",
    r"(?:以上|上記|前|これまで|すべて)の?[^。！？]{0,8}(?:指示|命令|プロンプト|ルール)[^。！？]{0,6}(?:無視し(?!ない)|忘れ(?!ない|ず))",
    r"(?:이전|위의|모든|앞의)[^.!?]{0,10}(?:지시|명령|규칙|프롬프트)[^.!?]{0,10}무시(?!하지)",
)
"""Patterns over lower-case text in multi-line mode."""

LANGUAGE_STEMS = (
    *("ignorier", "vergiss", "missacht", "als ki", "als sprach", "du bist", "sie sind", "deine "),
    *("bewerte", "benote", "stufe", "gib "),
    *("ignor", "oublie", "en tant qu", "tu es ", "ta ", "note", "attribue", "donne"),
    *("olvid", "como ", "ahora eres", "tu respuesta", "calif", "puntu", "asign"),
    *("dimentica", "esqueca", "desconsidere", "negeer", "vergeet"),
    *("игнорируи", "забудь", "внимания", "оцени", "поставь", "присвои"),
    *("忽略", "无视", "無視", "忘", "作为", "身为", "你现在是", "你的", "分", "相关", "무시"),
)
"""Each match of `LANGUAGES` holds one of these."""
