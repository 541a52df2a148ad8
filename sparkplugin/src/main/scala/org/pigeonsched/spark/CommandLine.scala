package org.pigeonsched.spark

import scala.collection.mutable.ArrayBuffer

/**
 * Splits a text of options, as users write them in spark.executor.extraJavaOptions, into words.
 */
object CommandLine {

  /**
   * Splits as a shell does for quotes and backslashes; nothing is expanded. The end of the text
   * closes an open quote.
   */
  def split(text: String): Seq[String] = {
    val words = ArrayBuffer[String]()
    val word = new StringBuilder
    var inWord = false
    var quote: Option[Char] = None
    var i = 0
    while (i < text.length) {
      val c = text.charAt(i)
      if (quote.contains(c)) quote = None
      else if (c == '\\' && !quote.contains('\'') && i + 1 < text.length) {
        i += 1
        word.append(text.charAt(i))
        inWord = true
      } else if (quote.isEmpty && (c == '"' || c == '\'')) {
        quote = Some(c)
        inWord = true
      } else if (quote.isEmpty && c.isWhitespace) {
        if (inWord) words += word.toString
        word.clear()
        inWord = false
      } else {
        word.append(c)
        inWord = true
      }
      i += 1
    }
    if (inWord) words += word.toString
    words.toList
  }
}
