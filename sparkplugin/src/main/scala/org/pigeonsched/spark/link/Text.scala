package org.pigeonsched.spark.link

import java.nio.{ByteBuffer, CharBuffer}
import java.nio.charset.{CodingErrorAction, StandardCharsets}

/** Texts for users that Spark does not bound and the daemons do. */
object Text {

  /** Returns the beginning of the text that has at most this many bytes, in whole characters. */
  def clipped(text: String, maxBytes: Int): String =
    if (text.length <= maxBytes / 3) text
    else {
      val in = CharBuffer.wrap(text)
      StandardCharsets.UTF_8.newEncoder()
        .onMalformedInput(CodingErrorAction.REPLACE)
        .encode(in, ByteBuffer.allocate(maxBytes), true)
      text.take(in.position())
    }
}
